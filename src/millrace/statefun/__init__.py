"""Stateful Functions: functions with an address, state and messages to each other, written with
Flink's SDKs and run by this engine (``pip install 'millrace[statefun]'``).

Semantics: Flink docs, "Stateful Functions".
"""

from __future__ import annotations
