/** Colors of the pictures, close to those of the pages that show them. A test requires a contrast of 4.5:1 for every text (WCAG 2.2, AA). */

export interface Theme {
  readonly background: string;
  /** Fill of boxes on the background; text is on both. */
  readonly panel: string;
  readonly border: string;
  readonly text: string;
  readonly muted: string;
  readonly keyword: string;
  readonly string: string;
  readonly number: string;
  readonly call: string;
  /** For high and low cost. */
  readonly high: string;
  readonly low: string;
}

export const THEMES: Readonly<Record<'light' | 'dark', Theme>> = {
  light: {
    background: '#ffffff',
    panel: '#f6f8fa',
    border: '#d1d9e0',
    text: '#1f2328',
    muted: '#59636e',
    keyword: '#b31d28',
    string: '#0a3069',
    number: '#0550ae',
    call: '#6639ba',
    high: '#bc4c00',
    low: '#1a7f37',
  },
  dark: {
    background: '#0d1117',
    panel: '#151b23',
    border: '#3d444d',
    text: '#f0f6fc',
    muted: '#9198a1',
    keyword: '#ff7b72',
    string: '#a5d6ff',
    number: '#79c0ff',
    call: '#d2a8ff',
    high: '#f0883e',
    low: '#3fb950',
  },
};
