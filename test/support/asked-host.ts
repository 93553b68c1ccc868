import {
  newSession,
  openHost,
  type DrivenTurn,
  type HostClient,
  type OpenHost,
  type OpenHostOptions,
} from "./open-host.ts";
import { wordOf } from "./request-desk.ts";

/** A session of the host whose turn runs, and two clients of its owner that take requests. */
export interface AskedHost extends OpenHost {
  readonly a: HostClient;
  readonly b: HostClient;
  readonly session_id: string;
  readonly stored_session_id: string;
  readonly turn: DrivenTurn;
}

/** Both clients are attached, and have all that came so far. */
export async function askedHost(options: OpenHostOptions = {}): Promise<AskedHost> {
  const host = await openHost(options);
  const a = await host.connect({ asks: true });
  const b = await host.connect({ asks: true });
  const { session_id, stored_session_id } = await newSession(a);
  const turn = await turnOf(host, a, session_id);
  await b.call("session.activate", { session_id });
  return { ...host, a, b, session_id, stored_session_id, turn };
}

/** Submits a prompt, and gives the turn that it starts. */
export async function turnOf(
  { agent }: Pick<OpenHost, "agent">,
  client: HostClient,
  session_id: string,
): Promise<DrivenTurn> {
  const begun = agent.turns.length;
  await client.call("prompt.submit", { session_id, text: "go" });
  return agent.turn(begun);
}

/** What a client was told of requests, in order: methods, and of each end its type and reason or outcome. */
export function requestWords({ came }: HostClient): readonly string[] {
  return came.flatMap(({ id, method, params }) => {
    if (id !== undefined && method !== undefined) return [String(method)];
    const { type = "", payload = {} } = params ?? {};
    return type.startsWith("request.") ? [wordOf(type, payload)] : [];
  });
}

/** The ids of the approval that was put before a client first, or later. */
export async function approvalOf(
  client: HostClient,
  nth = 0,
): Promise<{ readonly id: string; readonly request_id: string }> {
  const { id, params } = await client.request("approval", nth);
  return { id, request_id: String(params?.["request_id"]) };
}

/** How an outcome names the client that answered. */
export function by({ origin }: HostClient): { readonly by: { readonly origin: string } } {
  return { by: { origin } };
}

/** Ids in the `open_requests` of a reply. */
export function listed({ open_requests }: { readonly open_requests?: unknown }): readonly unknown[] {
  return (open_requests as readonly { readonly id: unknown }[]).map(({ id }) => id);
}
