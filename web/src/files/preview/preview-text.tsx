import { useSignal } from '@preact/signals';
import { Spinner } from '../../core/controls/controls.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';

const WORD_CHARS = 2_000;

/** Whether the text has a word so long that finding line breaks in it would block the page for seconds. */
function isSolid(content: string): boolean {
  return content.split(/\s+/).some((word) => word.length > WORD_CHARS);
}

/** A document in an iframe, with a spinner until it has loaded. */
export function Frame({ src, title }: { src: string; title: string }) {
  const isLoaded = useSignal(false);
  return (
    <>
      {!isLoaded.value && <Spinner label={text.preview.opening} />}
      <iframe
        key={src}
        class={isLoaded.value ? '' : 'unseen'}
        src={src}
        title={title}
        onLoad={setTo(isLoaded, true)}
      />
    </>
  );
}

interface TextProps {
  name: string;
  content: string;
  /** `content` is only the beginning of the file. */
  isCut: boolean;
  /** Local address of the text rendered as HTML. */
  page: string | undefined;
}

/** A text, either plain or rendered as HTML in a sandboxed iframe. */
export function Text({ name, content, isCut, page }: TextProps) {
  return (
    <div class="preview-text">
      {isCut && <p class="preview-note">{text.preview.cut}</p>}
      {page ? (
        <Frame src={page} title={name} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: lets the keyboard scroll a long text
        <pre dir="auto" tabIndex={0} class={isSolid(content) ? 'solid' : ''}>
          {content}
        </pre>
      )}
    </div>
  );
}
