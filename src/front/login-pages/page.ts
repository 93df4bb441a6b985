/** One page: a title, lines of text, and perhaps a button. It loads nothing and runs nothing, and cannot be framed. */
import type { ServerResponse } from 'node:http';

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function sendPage(
  response: ServerResponse,
  status: number,
  { title, lines, button }: { readonly title: string; readonly lines: readonly string[]; readonly button?: string },
): void {
  const paragraphs = lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('');
  const form = button === undefined ? '' : `<form method="post"><button>${escapeHtml(button)}</button></form>`;
  const shown = escapeHtml(title);
  response.writeHead(status, HEADERS);
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${shown}</title><h1>${shown}</h1>${paragraphs}${form}</html>\n`,
  );
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
