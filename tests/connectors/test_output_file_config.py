"""OutputFileConfig."""

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.connectors.output_file_config import OutputFileConfig


def test_prefix_and_suffix() -> None:
    config = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".csv").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("p", ".csv")


@pytest.mark.parametrize(("prefix", "suffix"), [("", ""), (".p", ""), ("_p", ""), ("p", "/x")])
def test_names_that_readers_ignore_are_refused(prefix: str, suffix: str) -> None:
    builder = OutputFileConfig.builder().with_part_prefix(prefix).with_part_suffix(suffix)
    with pytest.raises(JobDefinitionError, match="part files cannot be called"):
        builder.build()


def test_the_builder_has_flinks_name() -> None:
    """PyFlink nests it."""
    config = OutputFileConfig.OutputFileConfigBuilder().with_part_prefix("pre").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("pre", "")
