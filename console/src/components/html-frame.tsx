/** Renders a message's HTML as an email client would. The HTML is untrusted; scripts are blocked, see /frame. */
import { useEffect, useRef, useState } from 'react';

/** Links open in a new tab, which is not restricted like the frame. Scripts and forms stay blocked. */
export const frameSandbox = 'allow-same-origin allow-popups allow-popups-to-escape-sandbox';

/** Shows the HTML in the frame's document. A link that opened in the frame would replace the message. */
export function showHtml(page: Document, html: string): void {
  page.documentElement.innerHTML = html;
  for (const link of page.querySelectorAll('a:not([href^="#"]), area')) {
    link.setAttribute('target', '_blank');
    link.setAttribute('rel', 'noopener noreferrer');
  }
}

interface HtmlFrameProps {
  html: string;
  label: string;
  /** Maximum height in pixels; taller content scrolls. */
  maxHeight?: number;
}

export function HtmlFrame({ html, label, maxHeight = 900 }: HtmlFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [loaded, setLoaded] = useState(false);
  const [height, setHeight] = useState(240);
  useEffect(() => {
    const page = frame.current?.contentDocument;
    if (!loaded || !page) return;
    showHtml(page, html);
    const root = page.documentElement;
    const measure = () => setHeight(Math.min(maxHeight, Math.max(120, root.scrollHeight)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(root);
    return () => observer.disconnect();
  }, [html, loaded, maxHeight]);
  return (
    <iframe
      ref={frame}
      title={label}
      src="/frame"
      sandbox={frameSandbox}
      onLoad={() => setLoaded(true)}
      style={{ width: '100%', height, border: 0, borderRadius: 6, background: '#fff', display: 'block' }}
    />
  );
}
