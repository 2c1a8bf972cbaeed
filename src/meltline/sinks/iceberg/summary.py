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
POSITION = "meltline.position"
SOURCE = "meltline.source."
DATA_FILES = "meltline.data-files"
DELETE_FILES = "meltline.delete-files"
ROWS = "meltline.rows"

# table properties
TOKEN = "meltline.token."
LEDGER_OWNER = "meltline.ledger.owner"
LEDGER_LANE = "meltline.ledger.lane."
LEDGER_VERSION = "meltline.ledger.version"

POSITION_LIMIT = 4096


def token_key(pipeline: str, lane: str) -> str:
    return f"{TOKEN}{pipeline}.{lane}"


def lane_key(lane: str) -> str:
    return f"{LEDGER_LANE}{lane}"


def snapshot_summary(
    epoch: Epoch, table: str, owner: str, data_files: int, rows: int, delete_files: int = 0
) -> Mapping[str, str]:
    """What one published epoch says of itself."""
    position = epoch.plan.end.to_json()
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
    }
    if len(position) <= POSITION_LIMIT:
        names[POSITION] = position
    return names | {SOURCE + key: value for key, value in epoch.plan.summary.items()}
