import { approvalLines } from "../../approval-lines.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import { openRequests, type WaitingRequest } from "../open-requests.ts";
import { withServer, type RemoteOptions } from "../remote.ts";

/** Lists the questions that wait for a person: some lines each, or one JSON list. */
export async function requestsCommand(options: RemoteOptions, { out, note }: Output): Promise<number> {
  return withServer(options, note, async (client) => {
    const requests = await openRequests(client);
    if (options.json) await out(jsonText(requests));
    else for (const line of requests.flatMap(linesOf)) await out(line);
    if (requests.length === 0) note("nothing waits for an answer");
    return 0;
  });
}

/** All of a command: nobody can agree to what nobody can read. */
function linesOf(request: WaitingRequest): readonly string[] {
  const { id, method, room_id, member_id, session_id, choices } = request;
  const where = room_id === undefined ? `session ${session_id ?? "?"}` : `#${room_id} ${member_id ?? ""}`.trimEnd();
  const offered = Array.isArray(choices) ? [choices.map(String).join(" ")] : [];
  const head = [id, method, where, ...offered].map((part) => oneLine(part)).join("  ");
  return [head, ...asked(request).map((line) => `  ${line}`)];
}

/** What names and places it, and stands in its first line. */
const headFields: ReadonlySet<string> = new Set(["id", "method", "room_id", "member_id", "session_id", "choices"]);

function asked(request: WaitingRequest): readonly string[] {
  const approval = approvalLines(request);
  if (approval.length > 0) return approval;
  const about = Object.entries(request).filter(([field]) => !headFields.has(field));
  return about.map(([field, value]) => `${field}: ${typeof value === "string" ? oneLine(value) : jsonText(value)}`);
}
