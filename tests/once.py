"""An application, run once inside this process."""

from __future__ import annotations

import threading

from meltline.assembly.application import Application
from meltline.engine.crash import CrashPoint, no_crash
from meltline.testing import Recorder


def run_once(application: Application, crash: CrashPoint = no_crash) -> Recorder:
    """Lane after lane, in this thread; raises what stopped one. The application is closed."""
    recorder = Recorder()
    try:
        for runner in application.runners(recorder, once=True, crash=crash):
            runner.stop = threading.Event()
            runner.loop()
    finally:
        application.close()
    return recorder
