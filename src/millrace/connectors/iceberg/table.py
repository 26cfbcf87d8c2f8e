"""A table of Apache Iceberg, through the library `pyiceberg`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millrace.common.errors import ConfigurationError
from millrace.common.installation import missing_package

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["IcebergOptions", "columns_of"]


class IcebergOptions:
    """A table in a catalog. These options stay in the driver, together with the catalog's secrets.

    Args:
        table: its name, such as ``shop.orders``.
        catalog: properties as of `pyiceberg.catalog.load_catalog`, ``name`` among them if it is
            not "default", or the name of a catalog in ``.pyiceberg.yaml``.
    """

    def __init__(self, table: str, catalog: str | Mapping[str, str]) -> None:
        self.table = table
        self._catalog = catalog

    def catalog(self) -> Catalog:
        """The catalog.

        Raises:
            ConfigurationError: the library is missing.
        """
        try:
            from pyiceberg.catalog import load_catalog
        except ImportError as error:
            raise ConfigurationError(
                missing_package("Iceberg tables need", "pyiceberg", "iceberg")
            ) from error
        if isinstance(self._catalog, str):
            return load_catalog(self._catalog)
        properties = dict(self._catalog)
        return load_catalog(properties.pop("name", None), **properties)

    def open(self) -> Table:
        """The current state of the table.

        Raises:
            ConfigurationError: there is no such table.
        """
        catalog = self.catalog()
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return catalog.load_table(self.table)
        except NoSuchTableError:
            raise ConfigurationError(
                f"there is no Iceberg table {self.table} in the catalog; create it, or pass "
                "a row_type to the sink, which then creates the table"
            ) from None


def columns_of(table: Table, with_ids: bool) -> pyarrow.Schema:
    """Columns of a table, optionally with field ids, by which data files are read."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    schema: Any = schema_to_pyarrow(table.schema(), include_field_ids=with_ids)
    return schema
