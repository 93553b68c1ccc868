const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `<1 ms`, `5 ms`, `1.2 s`, `3 m 05 s`, `2 h 10 m`, `3 d 4 h`. A clock that stepped back makes no time negative. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  // What was measured is not shown as none.
  if (whole === 0 && ms > 0) return "<1 ms";
  if (whole < second) return `${whole} ms`;
  if (whole < minute) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
  if (whole < hour) return `${Math.floor(whole / minute)} m ${padded((whole % minute) / second)} s`;
  if (whole < day) return `${Math.floor(whole / hour)} h ${padded((whole % hour) / minute)} m`;
  return `${Math.floor(whole / day)} d ${Math.floor((whole % day) / hour)} h`;
}

function padded(value: number): string {
  return String(Math.floor(value)).padStart(2, "0");
}
