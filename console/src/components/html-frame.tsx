/** Renders a message's HTML as an email client would. The HTML is untrusted; scripts are blocked, see /frame. */
import { useEffect, useRef, useState } from 'react';

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
    const root = frame.current?.contentDocument?.documentElement;
    if (!loaded || !root) return;
    root.innerHTML = html;
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
      sandbox="allow-same-origin"
      onLoad={() => setLoaded(true)}
      style={{ width: '100%', height, border: 0, borderRadius: 6, background: '#fff', display: 'block' }}
    />
  );
}
