"""PyFlink's path and names of the errors of tables and catalogs."""

from __future__ import annotations

from millrace.common.errors import MillraceError
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table.catalog.errors import (
    CatalogError,
    DatabaseAlreadyExistError,
    DatabaseNotEmptyError,
    DatabaseNotExistError,
    FunctionAlreadyExistError,
    FunctionNotExistError,
    PartitionAlreadyExistsError,
    PartitionNotExistError,
    PartitionSpecInvalidError,
    TableAlreadyExistError,
    TableNotExistError,
    TableNotPartitionedError,
)

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]

JavaException = MillraceError
TableException = UnsupportedQueryError
CatalogException = CatalogError
DatabaseAlreadyExistException = DatabaseAlreadyExistError
DatabaseNotEmptyException = DatabaseNotEmptyError
DatabaseNotExistException = DatabaseNotExistError
FunctionAlreadyExistException = FunctionAlreadyExistError
FunctionNotExistException = FunctionNotExistError
PartitionAlreadyExistsException = PartitionAlreadyExistsError
PartitionNotExistException = PartitionNotExistError
PartitionSpecInvalidException = PartitionSpecInvalidError
TableAlreadyExistException = TableAlreadyExistError
TableNotExistException = TableNotExistError
TableNotPartitionedException = TableNotPartitionedError
