/**
 * What a connection may do at all: `read` what happens, `write` to sessions and rooms, answer `approvals`; `admin` stands
 * for all of them. Nothing else implies anything.
 */
export const scopes = ["read", "write", "approvals", "admin"] as const;
/** A word of `scopes`. */
export type Scope = (typeof scopes)[number];
