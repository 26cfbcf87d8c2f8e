"""Classes of the program's script, which are the same classes when the script is started again.

A class of ``__main__`` is pickled with its code, under an id by which a process knows it again.
cloudpickle draws this id at random, so a value that an earlier driver has pickled would be of
another class than that of its successor, and equal to none of its values.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import cloudpickle

__all__ = ["track_script_classes"]

_given: set[str] = set()
"""Ids of this process's classes. A name that meanwhile means another class gives no second id, as
workers may still have the first class."""


def track_script_classes() -> None:
    """Give the classes of the program's script ids that depend only on the script's content.

    An id also depends on the first name that the script gives the class. Classes that have been
    pickled before keep their ids, and so do those of notebooks and of other programs without a
    script: there, a class may have several definitions.
    """
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if script is None or not Path(script).is_file():
        return
    classes: dict[type, str] = {}
    for name, value in list(vars(main).items()):
        if isinstance(value, type) and value.__module__ == "__main__":
            classes.setdefault(value, name)
    library: Any = cloudpickle.cloudpickle
    if all(cls in library._DYNAMIC_CLASS_TRACKER_BY_CLASS for cls in classes):
        return
    digest = hashlib.sha256(Path(script).read_bytes())
    with library._DYNAMIC_CLASS_TRACKER_LOCK:
        for cls, name in classes.items():
            # several classes may have one __qualname__, such as those of one factory function
            named = digest.copy()
            named.update(name.encode())
            class_id = named.hexdigest()[:32]
            if cls in library._DYNAMIC_CLASS_TRACKER_BY_CLASS or class_id in _given:
                continue
            _given.add(class_id)
            library._DYNAMIC_CLASS_TRACKER_BY_CLASS[cls] = class_id
            library._DYNAMIC_CLASS_TRACKER_BY_ID[class_id] = cls
