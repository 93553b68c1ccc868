import type { Output } from "../../plugins/index.ts";

/** An output that keeps its lines. */
export interface CollectedOutput extends Output {
  readonly lines: string[];
  readonly notes: string[];
  /** The JSON of the line, or of the only one. */
  json(index?: number): unknown;
}

export function collectedOutput(): CollectedOutput {
  const lines: string[] = [];
  const notes: string[] = [];
  return {
    lines,
    notes,
    out: async (line) => void lines.push(line),
    note: (line) => void notes.push(line),
    json: (index = 0) => JSON.parse(lines[index] ?? "null") as unknown,
  };
}
