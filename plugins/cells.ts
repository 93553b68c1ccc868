/** What takes no cell of its own: marks that sit on the character before, joiners. (Variation selectors are marks.) */
const noCell = /^(?:\p{Mn}|\p{Me}|[\u200b-\u200d]|\u2060)$/u;

/** Scripts and signs that take two cells: East Asian wide and full-width ones, and emoji that are shown as pictures. */
const twoCells =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]$/u;

/** Cells of a terminal that a text takes, one line of it, without escape sequences. */
export function cellWidth(text: string): number {
  let width = 0;
  for (const point of text) width += cellsOf(point);
  return width;
}

/** Text that takes at most so many cells; what was cut ends in `…`. */
export function cutCells(text: string, width: number): string {
  if (cellWidth(text) <= width) return text;
  let [kept, cells] = ["", 0];
  for (const point of text) {
    cells += cellsOf(point);
    // One cell is for the mark.
    if (cells > width - 1) break;
    kept += point;
  }
  return width < 1 ? "" : `${kept}…`;
}

/** Text that takes exactly so many cells, unless it is longer. */
export function padCells(text: string, width: number, align: "left" | "right" = "left"): string {
  const blanks = " ".repeat(Math.max(0, width - cellWidth(text)));
  return align === "right" ? `${blanks}${text}` : `${text}${blanks}`;
}

function cellsOf(point: string): number {
  if (noCell.test(point)) return 0;
  return twoCells.test(point) ? 2 : 1;
}
