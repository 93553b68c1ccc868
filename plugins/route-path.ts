/** Paths of routes: segments, of which those behind a colon are names, and a star at the end for the rest. */
export const routePath = /^\/$|^(?:\/(?::[a-z_][a-z0-9_]*|[A-Za-z0-9._~-]+))*(?:\/\*)?$/;
