/** A message's HTML as a mail program shows it. It is other people's text: no script of it runs, see /frame. */
import { useEffect, useRef, useState } from 'react';

interface HtmlFrameProps {
  html: string;
  label: string;
  /** In pixels; what is longer scrolls. */
  tallest?: number;
}

export function HtmlFrame({ html, label, tallest = 900 }: HtmlFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [loaded, setLoaded] = useState(false);
  const [height, setHeight] = useState(240);
  useEffect(() => {
    const root = frame.current?.contentDocument?.documentElement;
    if (!loaded || !root) return;
    root.innerHTML = html;
    const measure = () => setHeight(Math.min(tallest, Math.max(120, root.scrollHeight)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(root);
    return () => observer.disconnect();
  }, [html, loaded, tallest]);
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
