/** What a terminal would obey instead of showing: escape sequences above all. An agent's text may hold them. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Text that a terminal shows and does not obey; line breaks and tabs stay. */
export function terminalText(text: string): string {
  return text.replace(controls, "\u{fffd}");
}

/** The same on one line, at most `maxUnits` long. */
export function oneLine(text: string, maxUnits: number): string {
  const line = terminalText(text).replace(/\s+/g, " ").trim();
  if (line.length <= maxUnits) return line;
  // Cut between two code points.
  return `${line.slice(0, maxUnits - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
