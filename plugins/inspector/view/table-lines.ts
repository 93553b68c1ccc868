import { cellWidth, padCells } from "../../cells.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Numbers stand at the right. Default `left`. */
  readonly align?: "left" | "right";
}

/**
 * Rows as lines whose columns stand below each other, two blanks apart; the last one is not padded. Cells are on one line and
 * have no look: whoever wants one gives it to whole lines. Pure.
 */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) => Math.max(...all.map((row) => cellWidth(row[index] ?? ""))));
  return all.map((row) =>
    columns
      .map(({ align = "left" }, index) => padCells(row[index] ?? "", widths[index] ?? 0, align))
      .join("  ")
      .trimEnd(),
  );
}
