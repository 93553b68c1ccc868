import type { Output } from "../../output.ts";
import { jsonText } from "../../terminal-text.ts";
import { withServer, type RemoteOptions } from "../remote.ts";

/**
 * Prints a link that opens the server's page signed in, as whoever the command connects as. Its ticket lets in once, and
 * runs out; it stands in the fragment, which no server is sent.
 */
export async function openCommand(options: RemoteOptions, { out, note }: Output): Promise<number> {
  return withServer(options, note, async (client, url) => {
    const { ticket, expires_in } = await client.call("gateway.ticket", {});
    const page = new URL("/", url.replace(/^ws/, "http"));
    page.hash = `ticket=${ticket}`;
    await out(options.json ? jsonText({ link: page.href, expires_in }) : page.href);
    if (!options.json) note(`it lets in once, within ${expires_in / 60} minutes`);
    return 0;
  });
}
