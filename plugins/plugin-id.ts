/** Ids of plugins: 1 to 64 of A-Z a-z 0-9 . _ - beginning with a letter or digit. */
export const pluginId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
