"""What a kind of state is made of; the kinds there are, are in `millrace.state.table_kinds`."""
