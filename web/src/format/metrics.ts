/** Values of metrics as people read them: the name says what is measured. */

import { bytes, count, rate, short } from "./numbers";
import { duration, latency, moment } from "./times";

const NONE = "–";
/** Largest whole number that is shown with all its digits. */
const COUNTED = 1e7;
/** Watermarks before the first and after the last record are no times. */
const LAST_TIME = 8.64e15;

type Unit = (value: number) => string;

const watermark: Unit = (value) => (Math.abs(value) < LAST_TIME ? moment(value) : NONE);

const UNITS: [RegExp, Unit][] = [
  [/watermark$/i, watermark],
  [/bytes\w*persecond$/i, (value) => `${bytes(value)}/s`],
  [/ms_?persecond$/i, (value) => `${short(value)} ms/s`],
  [/persecond$|_rate$/i, rate],
  [/bytes|memory|checkpointsize|statesize|fullsize/i, bytes],
  [/timestamp$/i, moment],
  [/cpu\.?time$/i, (value) => duration(value / 1e6)],
  [/latency/i, latency],
  [/(duration|uptime|downtime|lag|delay|time|ms|millis)$/i, duration],
];

/** A value of the metric `name`; what is no number stays as it is. */
export function metricText(name: string, value: number | string | null | undefined): string {
  if (value === null || value === undefined || value === "") return NONE;
  const number = typeof value === "number" ? value : Number(value);
  if (!Number.isFinite(number)) return String(value);
  const unit = unitOf(name);
  if (unit) return unit(number);
  return Number.isInteger(number) && Math.abs(number) < COUNTED ? count(number) : short(number);
}

/** Whether the values of the metric `name` are times: a chart of them does not begin at 0. */
export function isMoment(name: string): boolean {
  const unit = unitOf(name);
  return unit === watermark || unit === moment;
}

/** A value that a chart can show; null for a watermark before the first or after the last record. */
export function chartValue(name: string, value: number): number | null {
  return Number.isFinite(value) && !(isMoment(name) && Math.abs(value) >= LAST_TIME) ? value : null;
}

function unitOf(name: string): Unit | undefined {
  return UNITS.find(([names]) => names.test(unitPart(name)))?.[1];
}

/** Histograms end in what they say of their values: `..._p99`, `..._max`. A count has no unit. */
function unitPart(name: string): string {
  if (/_count$/.test(name)) return "";
  return name.replace(/_(min|max|mean|median|stddev|p\d+(_?\d+)?)$/, "");
}
