import type { Output } from "../../output.ts";
import { jsonText, oneLine, terminalText } from "../../terminal-text.ts";
import { withServer, type RemoteOptions } from "../remote.ts";

/** What `roomtap send` is asked for. */
export interface SendOptions extends RemoteOptions {
  readonly room: string;
  readonly text: string;
  readonly thread?: string | undefined;
}

/** Posts to a room; prints the id of the message and who will answer. */
export async function sendCommand(options: SendOptions, { out, note }: Output): Promise<number> {
  const { room: room_id, text, thread: thread_id, json } = options;
  return withServer(options, note, async (client) => {
    const post = thread_id === undefined ? { room_id, text } : { room_id, text, thread_id };
    const reply = await client.post(post);
    const { event, addressed, unresolved } = reply;
    if (json) await out(jsonText(reply));
    else
      await out(terminalText(`${event.event_id}  accepted  ${addressed.map((id) => oneLine(id)).join(" ")}`.trimEnd()));
    if (unresolved.length > 0) note(`nobody here is called ${unresolved.map((word) => `@${word}`).join(", ")}`);
    if (addressed.length === 0) note(`#${room_id}: the post is kept, and addresses nobody`);
    return 0;
  });
}
