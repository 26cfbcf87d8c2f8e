import { expect, test } from "vitest";
import { joined } from "../src/model/measurements";
import { pauseAfter } from "../src/model/poll_pause";
import { levelOf, newest } from "../src/model/log_text";
import { argumentsOf, settingsOf } from "../src/model/run_form";

test("an argument on each line may have blanks", () => {
  expect(argumentsOf(" --from\nNew York \n\n")).toEqual(["--from", "New York"]);
});

test("settings are names and values", () => {
  expect(settingsOf("a.b: 1 s\n# not this\nc = x: y\n")).toEqual({ "a.b": "1 s", c: "x: y" });
  expect(() => settingsOf("nothing")).toThrow("“nothing” is not a setting");
});

test("levels stand near the beginning of a line", () => {
  expect(["2026 ERROR x", "WARNING y", "DEBUG", "INFO all is well"].map(levelOf)).toEqual(["error", "warn", "debug", ""]);
  expect(levelOf(`${"x".repeat(200)} ERROR`)).toBe("");
});

test("what is dropped of a log is counted in bytes, by lines", () => {
  expect(newest("é1\né2\né3\n", 5)).toEqual({ text: "é3\n", dropped: 8 });
  expect(newest("short", 5)).toEqual({ text: "short", dropped: 0 });
});

test("pauses grow with failures, up to a limit", () => {
  expect([0, 1, 2, 3, 10].map((failures) => pauseAfter(failures, 2000))).toEqual([2000, 4000, 8000, 16000, 30000]);
});

test("measurements come once, and are kept for an hour", () => {
  const at = (time: number) => ({ time });
  expect(joined([at(1000), at(2000)], [at(2000), at(3000)])).toEqual([at(1000), at(2000), at(3000)]);
  expect(joined([at(0), at(3_000_000)], [at(3_600_001)])).toEqual([at(3_000_000), at(3_600_001)]);
});
