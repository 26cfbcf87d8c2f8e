"""Python functions of catalogs: either a registered function object, or one imported by its
name."""

from __future__ import annotations

import importlib

from millrace.table.catalog.catalog_objects import CatalogFunction
from millrace.table.catalog.errors import CatalogError
from millrace.table.udf import (
    AggregateFunction,
    TableAggregateFunction,
    UserDefinedFunctionWrapper,
    udaf,
    udtaf,
)

__all__ = ["function_of", "made_function"]


def function_of(function: CatalogFunction) -> UserDefinedFunctionWrapper:
    """The Python function of a catalog function, imported if the catalog stores only its name.

    Raises:
        CatalogError: there is no such module or attribute, or it was not made by `udf` or `udtf`.
    """
    made = function.function
    if made is None:
        made = _imported(function.class_name)
    made = made_function(made)
    if not isinstance(made, UserDefinedFunctionWrapper):
        raise CatalogError(
            f"{function.class_name or made!r} was not made by udf() or udtf(): decorate it "
            "with @udf(result_type=...) of millrace.table.udf"
        )
    return made


def made_function(given: object) -> object:
    """The function that `udaf` or `udtaf` makes of an object that declares its own types; other
    objects stay unchanged."""
    if isinstance(given, TableAggregateFunction):
        return udtaf(given)
    return udaf(given) if isinstance(given, AggregateFunction) else given


def _imported(path: str) -> object:
    module, _, name = path.rpartition(".")
    if not module or not name:
        raise CatalogError(f"a function must be named in the form 'module.function', not {path!r}")
    try:
        function: object = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever the user's module does when it is imported
        raise CatalogError(
            f"the function {path!r} cannot be imported: {error}; is its module on Python's path?"
        ) from error
    return function
