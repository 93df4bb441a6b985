/** How the view looks in its host: light or dark, and with the host's own colors and fonts, as far as their values are harmless. */
import { type HostMembers, isMembers } from './host.ts';

/** Of the host's variables, those that the styles of the view use. */
const VARIABLES: ReadonlySet<string> = new Set([
  '--color-background-primary',
  '--color-background-secondary',
  '--color-text-primary',
  '--color-text-secondary',
  '--color-border-primary',
  '--font-sans',
  '--font-mono',
]);
/** Colors and names of fonts. Any other function might load something. */
const FUNCTIONS: ReadonlySet<string> = new Set(
  'light-dark rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix'.split(' '),
);
const PLAIN = /^[\w\s#%,.()/"'+-]{1,300}$/;

/** The part of an element that this needs. */
export interface StyledElement {
  readonly style: { colorScheme: string; setProperty(name: string, value: string): void };
}

export function applyTheme({ style }: StyledElement, { styles, theme }: HostMembers): void {
  if (theme === 'light' || theme === 'dark') {
    style.colorScheme = theme;
  }
  const variables = isMembers(styles) ? styles['variables'] : undefined;
  for (const [name, value] of Object.entries(isMembers(variables) ? variables : {})) {
    if (VARIABLES.has(name) && typeof value === 'string' && isHarmless(value)) {
      style.setProperty(name, value);
    }
  }
}

function isHarmless(value: string): boolean {
  const functions = [...value.matchAll(/(?<name>[\w-]*)\s*\(/g)].map(({ groups }) => groups?.['name'] ?? '');
  return PLAIN.test(value) && functions.every((name) => FUNCTIONS.has(name.toLowerCase()));
}
