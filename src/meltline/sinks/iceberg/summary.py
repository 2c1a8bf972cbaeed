"""Every name Meltline writes into snapshot summaries and table properties: a public contract.

docs/reference/table-properties.md explains them; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from meltline.engine.epoch import Epoch

PREFIX = "meltline."

# snapshot summary
PIPELINE = "meltline.pipeline"
LANE = "meltline.lane"
EPOCH = "meltline.epoch"
BATCH_ID = "meltline.batch-id"
PLAN_DIGEST = "meltline.plan-digest"
OWNER = "meltline.owner"
START = "meltline.position-start"
POSITION = "meltline.position"
RESOLVED = "meltline.resolved"
VALID_THROUGH = "meltline.valid-through-ms"
SOURCE = "meltline.source."
DATA_FILES = "meltline.data-files"
DELETE_FILES = "meltline.delete-files"
ROWS = "meltline.rows"
KEYS = "meltline.keys"

# table properties
TOKEN = "meltline.token."
SOURCE_FIELDS = "meltline.source-fields"
LEDGER_OWNER = "meltline.ledger.owner"
LEDGER_LANE = "meltline.ledger.lane."
LEDGER_VERSION = "meltline.ledger.version"

POSITION_LIMIT = 4096


def token_key(pipeline: str, lane: str) -> str:
    return f"{TOKEN}{pipeline}.{lane}"


def lane_key(lane: str) -> str:
    return f"{LEDGER_LANE}{lane}"


def snapshot_summary(
    epoch: Epoch, table: str, owner: str, data_files: int, delete_files: int, rows: int, keys: int
) -> Mapping[str, str]:
    """What one published epoch says of itself. `keys` are those whose earlier rows were to go."""
    plan = epoch.plan
    names = {
        PIPELINE: epoch.pipeline,
        LANE: epoch.lane,
        EPOCH: str(epoch.number),
        BATCH_ID: epoch.batch_id(table),
        PLAN_DIGEST: epoch.plan_digest,
        OWNER: owner,
        DATA_FILES: str(data_files),
        DELETE_FILES: str(delete_files),
        ROWS: str(rows),
        KEYS: str(keys),
    }
    for name, position in ((START, plan.start), (POSITION, plan.end)):
        text = "" if position is None else position.to_json()
        if text and len(text) <= POSITION_LIMIT:
            names[name] = text
    if plan.resolved is not None:
        names[RESOLVED] = plan.resolved
    if plan.valid_through_ms is not None:
        names[VALID_THROUGH] = str(plan.valid_through_ms)
    return names | {SOURCE + key: value for key, value in plan.summary.items()}
