import { expect, test } from "vitest";
import { headline, rootFailure } from "../src/model/traceback";

const CHAINED = `Job failed:
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/millrace/runtime/operators/map.py", line 41, in process
    emit(self._function(value))
  File "/srv/jobs/fraud.py", line 23, in <lambda>
    return LIMITS[value] / 2
           ~~~~~~^^^^^^^
KeyError: 'XK'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/pyspark/worker.py", line 1250, in main
    process()
millrace.common.errors.UserFunctionError: the record is bad`;

test("the first failure of a chain, with the user's own frames marked", () => {
  const failure = rootFailure(CHAINED);
  expect(failure).toMatchObject({ type: "KeyError", message: "'XK'" });
  expect(failure?.frames.map(({ own, line, code }) => [own, line, code])).toEqual([
    [false, 41, "emit(self._function(value))"],
    [true, 23, "return LIMITS[value] / 2"],
  ]);
});

test("a message of several lines", () => {
  const text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: first\nsecond\n';
  expect(rootFailure(text)).toMatchObject({ type: "ValueError", message: "first\nsecond" });
  expect(headline(text)).toBe("ValueError: first");
});

test("an exception without a message, and frames without code", () => {
  const text = 'Traceback (most recent call last):\n  File "a.py", line 7, in f\nmypackage.Stop\n';
  expect(rootFailure(text)).toMatchObject({ type: "mypackage.Stop", message: "", frames: [{ line: 7, code: "", own: true }] });
});

test("what is no traceback is told as it is", () => {
  expect(rootFailure("the process was killed")).toBeNull();
  expect(headline("the process was killed\nby signal 9")).toBe("the process was killed");
});

test("an uploaded program is the user's own, wherever the server keeps it", () => {
  const uploaded = "/home/ann/.local/state/millrace/server/uploads/6f1c0d2e6f1c0d2e6f1c0d2e6f1c0d2e_clicks.zip/clicks.py";
  const engine = "/usr/lib/millrace/runtime/subtask.py";
  const inClone = "/home/ann/millrace/jobs/clicks.py";
  const text = ["Traceback (most recent call last):", engine, uploaded, inClone, "ValueError: no"]
    .map((line) => (line.startsWith("/") ? `  File "${line}", line 3, in f\n    g()` : line))
    .join("\n");
  expect(rootFailure(text)?.frames.map(({ own }) => own)).toEqual([false, true, true]);
});

test("a syntax error, which is printed without a traceback's first line", () => {
  const text = '  File "/srv/jobs/clicks.py", line 1\n    def broken(:\n               ^\nSyntaxError: invalid syntax\n';
  expect(headline(text)).toBe("SyntaxError: invalid syntax");
  expect(rootFailure(text)?.frames).toMatchObject([{ line: 1, code: "def broken(:", own: true }]);
});
