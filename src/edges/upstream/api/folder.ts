/** Folder of the compiled descriptions in a state directory. Alone in its file, because the start of a bridge loads it. */
export const DESCRIPTIONS = ['.cache', 'descriptions'] as const;
