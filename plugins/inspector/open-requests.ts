import { CallError, type Client, type ResultOf } from "../client/index.ts";

/** A question that waits for a person, wherever it was asked. */
export interface WaitingRequest {
  readonly id: string;
  readonly method: string;
  /** Of a room's turn. */
  readonly room_id?: string;
  readonly member_id?: string;
  /** Of a session outside rooms: its durable id. */
  readonly session_id?: string;
  readonly command?: unknown;
  readonly description?: unknown;
  readonly question?: unknown;
  readonly choices?: unknown;
}

/** Rooms and sessions per page of a list. */
const pageLength = 500;

/** All questions that the caller may answer: those of rooms, by room, then those of live sessions. Looking attaches nothing. */
export async function openRequests(client: Client): Promise<readonly WaitingRequest[]> {
  return [...(await roomRequests(client)), ...(await sessionRequests(client))];
}

async function roomRequests(client: Client): Promise<readonly WaitingRequest[]> {
  const found: WaitingRequest[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const page: ResultOf<"groups.list"> = await client.call("groups.list", { limit: pageLength, offset });
    for (const { room_id } of page.rooms) found.push(...(await requestsOfRoom(client, room_id)));
    offset = page.next_offset;
  }
  return found;
}

async function requestsOfRoom(client: Client, room_id: string): Promise<readonly WaitingRequest[]> {
  try {
    const { open_requests } = await client.call("rooms.state", { room_id });
    return open_requests.map(({ coordinates, ...request }) => ({
      ...shownFields(request.id, request.method, request),
      room_id,
      ...(coordinates === null ? {} : { member_id: coordinates.member_id }),
    }));
  } catch (fault) {
    // A room that is in the database and is driven elsewhere, or not at all, asks nobody here.
    const elsewhere = ["driver_unavailable", "unknown_room", "room_disbanded", "lease_lost"];
    if (fault instanceof CallError && elsewhere.includes(fault.reason)) return [];
    throw fault;
  }
}

async function sessionRequests(client: Client): Promise<readonly WaitingRequest[]> {
  const found: WaitingRequest[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const page: ResultOf<"session.list"> = await client.call("session.active_list", { limit: pageLength, offset });
    for (const { id, resolved_id } of page.sessions) {
      if (typeof resolved_id !== "string") continue;
      // Above every number: what is wanted is the list of questions beside the events.
      const last_seen = Number.MAX_SAFE_INTEGER;
      const { open_requests } = await client.call("session.events.since", { session_id: resolved_id, last_seen });
      for (const { id: requestId, method, params } of open_requests) {
        found.push({ ...shownFields(requestId, method, params), session_id: id });
      }
    }
    offset = page.next_offset;
  }
  return found;
}

const fields = ["command", "description", "question", "questions", "prompt", "env_var", "choices"] as const;

function shownFields(id: string, method: string, about: { readonly [key: string]: unknown }): WaitingRequest {
  const shown = fields.flatMap((field) => (about[field] === undefined ? [] : [[field, about[field]] as const]));
  return { id, method, ...Object.fromEntries(shown) };
}
