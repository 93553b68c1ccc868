import { limits } from "../core/index.ts";
import { terminalText } from "./terminal-text.ts";

/** What an approval is about, as its request or its event carries it. */
export interface ApprovalTexts {
  readonly command?: unknown;
  readonly description?: unknown;
}

/**
 * What a person who answers an approval has to read: all of the command, then all of its description, line by line, shown
 * and not obeyed by a terminal. `…` ends a text that was cut on its way; such an approval can only be denied.
 * @param cut names of the fields that were cut by the bound of whoever shows them
 */
export function approvalLines({ command, description }: ApprovalTexts, cut: readonly string[] = []): readonly string[] {
  return [...textLines(command, cut.includes("command")), ...textLines(description, cut.includes("description"))];
}

function textLines(text: unknown, isCut: boolean): readonly string[] {
  if (typeof text !== "string" || text.trim() === "") return [];
  // A cut between two code points may take one unit more.
  const isWhole = !isCut && text.length < limits.maxApprovalTextUnits - 1;
  return `${text}${isWhole ? "" : "…"}`.split("\n").map((line) => terminalText(line.trimEnd()));
}
