/** Every flag that clients may look for, false included: an absent one means that nothing is known. */
const capabilities = {
  event_replay: true,
  change_events: false,
  turn_lease: true,
  turn_recovery: true,
  client_turn_id: true,
  rooms: true,
  room_activity: true,
  session_sharing: true,
  message_input: true,
} as const;

/** What a connection is told of itself; over stdio there is one client, and nothing of this. */
export interface ReadyConnection {
  readonly origin: string;
  readonly resumeToken: string;
  readonly resumed: boolean;
}

/** The text of the first frame on every connection. `skin` and `change_events` belong to the contract of the clients. */
export function readyText(epoch: string, connection: ReadyConnection | null): string {
  const payload = {
    skin: {},
    change_events: false,
    ...(connection === null ? {} : { heartbeat: true }),
    replay_epoch: epoch,
    ...(connection === null
      ? {}
      : {
          session_mirroring: true,
          origin: connection.origin,
          resume_token: connection.resumeToken,
          resumed: connection.resumed,
        }),
    protocol: { version: 1 },
    capabilities,
  };
  return JSON.stringify({ jsonrpc: "2.0", method: "event", params: { type: "gateway.ready", payload } });
}
