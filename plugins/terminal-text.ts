/** What a terminal would obey instead of showing: escape sequences above all. An agent's text may hold them. */
const controls = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text that a terminal shows and does not obey; line breaks and tabs stay. */
export function terminalText(text: string): string {
  return text.replace(controls, "\u{fffd}");
}

/** JSON that a terminal shows and does not obey: what it would obey stands there as an escape, so the value is the same. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    controls,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Text on one line that a terminal shows and does not obey, at most `maxUnits` UTF-16 units long; without a bound as long as it is. */
export function oneLine(text: string, maxUnits = Infinity): string {
  const line = terminalText(text.replace(/\r\n/g, "\n")).replace(/\s+/g, " ").trim();
  if (line.length <= maxUnits) return line;
  // Cut between two code points.
  return `${line.slice(0, maxUnits - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
