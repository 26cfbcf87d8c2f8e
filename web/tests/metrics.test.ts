import { expect, test } from "vitest";
import { chartValue, isMoment, metricText } from "../src/format/metrics";

test.each([
  ["numRecordsIn", 1234567, "1,234,567"], ["numRecordsIn", "66312000", "66.3M"], ["0.Map.numRecordsInPerSecond", 18420, "18.4k/s"],
  ["numBytesOutPerSecond", 2048, "2.00 KiB/s"], ["lastCheckpointSize", "312400", "305 KiB"], ["lastCheckpointDuration", 96, "96 ms"],
  ["busyTimeMsPerSecond", 250, "250 ms/s"], ["uptime", 190_800_000, "2 d 5 h"], ["currentInputWatermark", -(2 ** 63), "–"],
  ["currentInputWatermark", 0, "–"], ["requests_p99", 3.25, "3.25"], ["latency_p99", 0.35, "0.35 ms"], ["latency_count", 4000, "4,000"],
  ["mode", "fast", "fast"], ["share", 0.25, "0.25"], ["gone", null, "–"], ["Status.Process.CPU.Time", 5e9, "5.0 s"],
] as const)("%s of %s is %s", (name, value, text) => expect(metricText(name, value)).toBe(text));

test("a chart shows times as times, and no watermark before the first record", () => {
  expect(["currentInputWatermark", "lastCheckpointRestoreTimestamp", "watermarkLag", "uptime"].map(isMoment)).toEqual([true, true, false, false]);
  expect(chartValue("currentInputWatermark", 1_795_525_509_000)).toBe(1_795_525_509_000);
  expect(chartValue("currentInputWatermark", -(2 ** 63))).toBeNull();
  expect(chartValue("offset", -(2 ** 63))).toBe(-(2 ** 63));
  expect(chartValue("text", NaN)).toBeNull();
});
