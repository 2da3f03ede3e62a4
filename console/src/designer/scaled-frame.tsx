/** Renders HTML at a given screen width, scaled down to fit. html-frame.tsx explains why it is an iframe. */
import { useEffect, useRef, useState } from 'react';
import { frameSandbox, showHtml } from '../components/html-frame.tsx';

const maxHeight = 1_400;

interface ScaledFrameProps {
  html: string;
  label: string;
  /** Width of the simulated screen, in its own pixels. */
  width: number;
  scale: number;
}

export function ScaledFrame({ html, label, width, scale }: ScaledFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [loaded, setLoaded] = useState(false);
  const [height, setHeight] = useState(320);
  useEffect(() => {
    const page = frame.current?.contentDocument;
    if (!loaded || !page) return;
    showHtml(page, html);
    const measure = () => {
      // The root's height includes the body's margins, the body's scroll height includes overflowing content.
      const needed = Math.max(page.documentElement.offsetHeight, page.body?.scrollHeight ?? 0);
      setHeight(Math.min(maxHeight, Math.max(160, needed)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (page.body) observer.observe(page.body);
    return () => observer.disconnect();
  }, [html, loaded]);
  return (
    <div
      style={{
        width: Math.floor(width * scale),
        height: Math.ceil(height * scale),
        flex: 'none',
        overflow: 'hidden',
        border: '1px solid var(--line)',
        borderRadius: 6,
      }}
    >
      <iframe
        ref={frame}
        title={label}
        src="/frame"
        sandbox={frameSandbox}
        onLoad={() => setLoaded(true)}
        style={{
          width,
          height,
          border: 0,
          display: 'block',
          background: '#fff',
          colorScheme: 'light',
          transform: `scale(${scale})`,
          transformOrigin: '0 0',
        }}
      />
    </div>
  );
}
