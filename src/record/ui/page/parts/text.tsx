/** Text from code and servers. It is only ever text: hidden characters are spelled out, and addresses may become links. */
import { makeVisible } from '../../../../core/catalog/visible.ts';
import { splitText } from '../links.ts';

/** Text on which nothing can hide. `links`: whether `http` and `https` addresses can be followed. */
export function Shown({ text, links = false }: { readonly text: string; readonly links?: boolean }) {
  const visible = makeVisible(text);
  if (!visible.includes('<') && !(links && visible.includes('://'))) {
    return <>{visible}</>;
  }
  return (
    <>
      {splitText(visible, links).map((part, index) => {
        if (part.kind === 'link') {
          return <OutLink key={index} href={part.text} />;
        }
        return part.kind === 'mark' ? (
          <span key={index} class="hidden-character" title="A character that would not be visible">
            {part.text}
          </span>
        ) : (
          part.text
        );
      })}
    </>
  );
}

/** A link to another site. It shows its whole address. */
export function OutLink({ href }: { readonly href: string }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" class="out-link">
      {href}
    </a>
  );
}
