"""Times to live of tables of columns: what has expired is found, round by round."""

import numpy as np
import pyarrow as pa

from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.slot_table import SlotTable
from millrace.state.columns.time_to_live import LAST_USED, TimeToLive


def table_of(count: int) -> SlotTable:
    table = SlotTable()
    table.bind(ColumnsOf((pa.int64(),), values=(LAST_USED,)))
    table.slots_of([pa.array(np.arange(count))], create=True)
    table.seal()
    return table


def test_all_that_has_expired_goes_within_64_epochs_however_much_there_is() -> None:
    table = table_of(1_500_000)
    life = TimeToLive(table, 0, 100)
    kept = np.array([7, 1_400_000])
    table.touch(kept)
    life.begin_epoch(50)
    life.renew(kept)
    life.begin_epoch(120)
    for _ in range(65):
        table.remove(life.swept())
        table.seal()
    assert table.live_slots().tolist() == kept.tolist()


def test_nothing_expires_without_a_time() -> None:
    table = table_of(3)
    life = TimeToLive(table, 0, 0)
    life.begin_epoch(10**12)
    assert not life
    assert life.alive(np.arange(3)).all()
    assert not life.swept().size
