import { signal, type ReadonlySignal } from "@preact/signals";
import { createClient, LinkError, type Client } from "../../client/index.ts";
import { pageClock } from "./clock.ts";

/** How the page stands to the server. `out`: somebody has to sign in, for the reason given. */
export type Phase =
  | { readonly is: "connecting" | "open" | "waiting" }
  | { readonly is: "out"; readonly why: string | null };

/** What the page is let in by. */
export type Credential =
  | { readonly kind: "ticket"; readonly ticket: string }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "none" };

/** How often a fresh ticket is asked for while a connection stands: well within the time that one is good for. */
const ticketEveryMs = 120_000;
const storedKey = "roomtap.credential";

/**
 * The page's connection: made with a ticket each time, as browsers have to. A token is shown for tickets; who came by a
 * link has one ticket, and gets the next one over the connection.
 */
export class PageSession {
  readonly phase: ReadonlySignal<Phase>;
  readonly #phase = signal<Phase>({ is: "out", why: null });
  readonly #origin: string;
  readonly #onClient: (client: Client | null) => void;
  #client: Client | null = null;
  #credential: Credential = { kind: "none" };
  /** How somebody signed in. A ticket is used with each attempt, so for a while there may be none. */
  #way: Credential["kind"] = "none";
  #stopRefresh: () => void = () => undefined;

  /** @param onClient told of each new client before it connects, and of its end */
  constructor(origin: string, onClient: (client: Client | null) => void) {
    this.#origin = origin;
    this.#onClient = onClient;
    this.phase = this.#phase;
  }

  /** What was kept over a reload of the page. */
  stored(): Credential {
    try {
      const kept: unknown = JSON.parse(sessionStorage.getItem(storedKey) ?? "null");
      return isCredential(kept) ? kept : { kind: "none" };
    } catch {
      return { kind: "none" };
    }
  }

  /** Connects; what comes of it the phase tells. */
  signIn(credential: Credential): void {
    this.#end();
    this.#keep(credential);
    this.#way = credential.kind;
    this.#phase.value = { is: "connecting" };
    const url = `${this.#origin.replace(/^http/, "ws")}/api/ws`;
    const ticket = (): Promise<string> => this.#nextTicket();
    const client = createClient({ url, ...(credential.kind === "none" ? {} : { ticket }) });
    this.#client = client;
    client.onState((state) => this.#onState(client, state));
    client.onEnd((error) => this.#signOut(client, reasonOf(error)));
    this.#onClient(client);
    client.connect().catch((fault: unknown) => this.#signOut(client, reasonOf(fault)));
  }

  /** Forgets the credential. */
  signOut(): void {
    this.#keep({ kind: "none" });
    this.#end();
    this.#phase.value = { is: "out", why: null };
  }

  #onState(client: Client, state: Client["state"]): void {
    if (this.#client !== client || this.#phase.value.is === "out") return;
    this.#phase.value = {
      is: state === "open" ? "open" : this.#phase.value.is === "connecting" ? "connecting" : "waiting",
    };
    this.#stopRefresh();
    if (state !== "open" || this.#way !== "ticket") return;
    void this.#refresh(client);
    this.#stopRefresh = pageClock.every(ticketEveryMs, () => void this.#refresh(client));
  }

  /** Without a fresh one the page is still connected; it could not come back. */
  async #refresh(client: Client): Promise<void> {
    try {
      const { ticket } = await client.call("gateway.ticket", {});
      if (this.#client === client) this.#keep({ kind: "ticket", ticket });
    } catch {
      // Asked again in two minutes, or when it stands again.
    }
  }

  async #nextTicket(): Promise<string> {
    const credential = this.#credential;
    if (credential.kind === "token") return this.#ticketFor(credential.token);
    if (credential.kind === "none") {
      this.#signOut(this.#client, "ticket_invalid");
      throw new Error("there is no ticket any more");
    }
    // It lets in once: whatever becomes of this attempt, it is used.
    this.#keep({ kind: "none" });
    return credential.ticket;
  }

  async #ticketFor(token: string): Promise<string> {
    const response = await fetch(`${this.#origin}/api/auth/ws-ticket`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    const answer = (await response.json()) as { readonly ticket?: string; readonly error?: string };
    if (answer.ticket !== undefined) return answer.ticket;
    // Another try with the same token would be refused again.
    if (response.status === 401) this.#signOut(this.#client, answer.error ?? "no_credential");
    throw new Error(answer.error ?? `status ${response.status}`);
  }

  #signOut(client: Client | null, why: string): void {
    if (client === null || this.#client !== client) return;
    this.#keep({ kind: "none" });
    this.#end();
    this.#phase.value = { is: "out", why };
  }

  #end(): void {
    this.#stopRefresh();
    this.#stopRefresh = () => undefined;
    const client = this.#client;
    this.#client = null;
    if (client === null) return;
    this.#onClient(null);
    void client.close();
  }

  #keep(credential: Credential): void {
    this.#credential = credential;
    try {
      if (credential.kind === "none") sessionStorage.removeItem(storedKey);
      else sessionStorage.setItem(storedKey, JSON.stringify(credential));
    } catch {
      // A browser that keeps nothing: signed in until the page is loaded again.
    }
  }
}

function isCredential(value: unknown): value is Credential {
  if (typeof value !== "object" || value === null) return false;
  const { kind, ticket, token } = value as { readonly [key: string]: unknown };
  return (kind === "ticket" && typeof ticket === "string") || (kind === "token" && typeof token === "string");
}

/** A word of the server for why it refused, or what else happened. */
function reasonOf(fault: unknown): string {
  if (fault instanceof LinkError && fault.closeReason) return fault.closeReason;
  return fault instanceof Error ? fault.message : String(fault);
}
