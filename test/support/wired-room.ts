import type { Scope } from "../../core/index.ts";
import type { Authenticate } from "../../plugins/gateway/index.ts";
import { DrivenAgent, openHost, type CameParams, type HostClient, type OpenHost } from "./open-host.ts";
import type { OpenHostOptions } from "./open-host.ts";

/** What a connection may do, by the token that it shows. */
export interface Holder {
  readonly scopes?: readonly Scope[];
  readonly grants?: readonly string[];
}

/** Tokens that stand for connections of `local` with fewer rights than the gateway's own. */
export function holders(byToken: Readonly<Record<string, Holder>>): Authenticate {
  return ({ value }) => {
    const { scopes = ["read", "write", "approvals", "admin"], grants = [] } = byToken[value] ?? {
      grants: ["reasoning", "full"],
    };
    return { principal: "local", generation: "1", scopes, grants };
  };
}

/** A host with a room `r1` whose members are all driven by one agent, a round each. */
export interface WiredRoom extends OpenHost {
  readonly agent: DrivenAgent;
}

export async function wiredRoom(
  handles: readonly string[] = ["a"],
  options: OpenHostOptions & { readonly agent?: DrivenAgent } = {},
): Promise<WiredRoom> {
  const { agent = new DrivenAgent(), ...rest } = options;
  const members = handles.map((handle) => ({ handle, runner: agent }));
  const rooms = [{ room_id: "r1", members, policy: { maxRounds: 1, maxOwedPasses: 0 } }];
  return { ...(await openHost({ rooms, agents: { default: agent }, ...rest })), agent };
}

/** Payloads of the events of a type that came, in order. */
export function payloads(client: HostClient, type: string): readonly Record<string, unknown>[] {
  return client.events(type).map(({ payload = {} }) => payload);
}

/** A word per event of a room: `log 1 turn.started`, `activity 2 tool.started`, `member running`, `message queued`. */
export function roomWords(client: HostClient): readonly string[] {
  return client.events().flatMap(({ type, payload = {} }) => {
    switch (type) {
      case "room.log":
        return [`log ${String(payload["seq"])} ${String(payload["kind"])}`];
      case "room.activity":
        return [`activity ${String(payload["n"])} ${String(payload["kind"])}`];
      case "room.member":
        return [`member ${String(payload["state"])}`];
      case "room.message":
        return [`message ${String(payload["state"])}`];
      default:
        return [];
    }
  });
}

/** Waits until a row of this number has come. */
export function rowCame(client: HostClient, seq: number): Promise<CameParams> {
  return client.eventWhere("room.log", ({ payload }) => payload?.["seq"] === seq);
}

/** Waits until activity of this kind has come. */
export function activityCame(client: HostClient, kind: string): Promise<CameParams> {
  return client.eventWhere("room.activity", ({ payload }) => payload?.["kind"] === kind);
}

/** Waits until a member was told to be in a state. */
export function memberCame(client: HostClient, state: string): Promise<CameParams> {
  return client.eventWhere("room.member", ({ payload }) => payload?.["state"] === state);
}
