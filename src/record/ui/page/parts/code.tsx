/** Python with colors and line numbers, and other long texts, with a button that copies them. */
import { useMemo } from 'preact/hooks';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import { CopyButton } from './controls.tsx';
import { CodeLines, TextLines } from './lines.tsx';

export function Code({ code, label }: { readonly code: string; readonly label: string }) {
  // The same element is not drawn again: beside it, output may arrive in every frame.
  return useMemo(
    () => <CodeLines code={code} label={label} beside={<CopyButton text={() => makeVisible(code)} label={label} />} />,
    [code, label],
  );
}

/** Any text, with line ends as they are. */
export function LongText({ text, label, links = false }: { text: string; label: string; links?: boolean }) {
  return (
    <TextLines
      text={text}
      label={label}
      links={links}
      beside={<CopyButton text={() => makeVisible(text)} label={label} />}
    />
  );
}
