import type { OpenRequest } from "../../core/index.ts";
import type { LeaseWait } from "../../rooms/index.ts";
import { approvalLines } from "../approval-lines.ts";
import { oneLine } from "../terminal-text.ts";

/**
 * What to tell whoever sits at the terminal when a question waits: all of it, for nobody can agree to what nobody can read.
 * @param isServed whether other commands can reach this one; without that only approvals can be answered, by a line
 */
export function hintLines(request: OpenRequest, isServed: boolean): readonly string[] {
  const { id, method } = request;
  const isApproval = method === "approval";
  const what = isApproval ? "an approval" : "a question";
  const command = `roomtap answer ${id} ${isApproval ? "once, or deny" : "VALUE"}`;
  const typed = isApproval ? `type /answer ${id} once, or /answer ${id} deny` : `with --port ${command} answers it`;
  return [...questionOf(request).map((line) => `${what} waits: ${line}`), isServed ? `answer it: ${command}` : typed];
}

/** What is asked, on a line. */
export function questionLine(request: OpenRequest): string {
  return questionOf(request)[0] ?? "";
}

function questionOf({ method, params }: OpenRequest): readonly string[] {
  const { command, description, tool_name, question, prompt } = params;
  const lines = approvalLines({ command, description });
  if (lines.length > 0) return lines;
  const text = [question, prompt, tool_name].find((each) => typeof each === "string");
  return [oneLine(typeof text === "string" ? text : `${method}; it does not say what`)];
}

/** Another process drives the room: posts are taken meanwhile, and it goes on here when the lease can be had. */
export function waitLine(roomId: string, { process: holder, inMs }: LeaseWait): string {
  const who = holder === null ? "another process" : `process ${holder.pid}`;
  const seconds = Math.ceil(inMs / 1_000);
  return `#${roomId}: ${who} drives it; it is taken over here ${seconds} s after its last sign of life`;
}
