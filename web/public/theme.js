// Before the first paint, so that a chosen theme does not flash in the other one.
document.documentElement.dataset.theme = localStorage.getItem("millrace.theme") ?? "system";
