import { useSignal } from '@preact/signals';
import { Spinner } from '../../core/controls/controls.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';

const WORD_CHARS = 2_000;

/** One word over many lines: looking for places to break it would hold the page up for seconds. */
function isSolid(content: string): boolean {
  return content.split(/\s+/).some((word) => word.length > WORD_CHARS);
}

/** A document in a frame of its own: a browser shows nothing of it until it is there. */
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
  /** Only the beginning is here. */
  isCut: boolean;
  /** The address of the text as a page. */
  page: string | undefined;
}

/** A text as it is, or as a page in a frame that has no powers. */
export function Text({ name, content, isCut, page }: TextProps) {
  return (
    <div class="preview-text">
      {isCut && <p class="preview-note">{text.preview.cut}</p>}
      {page ? (
        <Frame src={page} title={name} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by the keyboard
        <pre dir="auto" tabIndex={0} class={isSolid(content) ? 'solid' : ''}>
          {content}
        </pre>
      )}
    </div>
  );
}
