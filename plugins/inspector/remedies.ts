import type { LinkError } from "../client/index.ts";

/** By close code: what can be done about a connection that the server ended, or never let stand. */
const byCloseCode: ReadonlyMap<number, string> = new Map([
  [1001, "The server was stopped: start it again."],
  [1013, "Call again, and read as fast as it comes."],
  [4401, "Correct --token or ROOMTAP_TOKEN; a server that is given no token makes another one at each start."],
  [4403, "Let --url name the server by the address it listens at, or by one of its allowedHosts."],
  [4410, "Ask whoever runs the server: the connection was ended by hand."],
  [4429, "Wait some seconds, then call again."],
]);

const byReason: { readonly [Reason in LinkError["reason"]]?: string } = {
  unreachable: "See that the server runs there, or correct --url.",
  handshake_timeout: "See that what listens there is a roomtap server, or correct --url.",
  bad_handshake: "See that what listens there is a roomtap server, or correct --url.",
  silent: "See that the server is well, then call again.",
  dropped: "See that the server still runs, then call again; what was asked for may have been done.",
  call_timeout: "See that the server is well; what was asked for may have been done.",
};

/** What a person can do about a connection that failed; undefined where the table of errors says enough. Pure. */
export function remedyOf({ closeCode, reason }: Pick<LinkError, "closeCode" | "reason">): string | undefined {
  return (closeCode === null ? undefined : byCloseCode.get(closeCode)) ?? byReason[reason];
}
