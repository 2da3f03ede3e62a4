'use client';

/** The React component, and a hook for a custom UI. */
import { createElement, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { InboxClient } from './client.ts';
import type { BelfryInbox as BelfryInboxElement } from './element.ts';
import type { InboxTexts } from './texts.ts';
import type { InboxAction, InboxMessage, InboxOptions, InboxState } from './types.ts';
import './index.ts';

export interface BelfryInboxProps extends Omit<InboxOptions, 'pageSize'> {
  lang?: string;
  theme?: 'light' | 'dark' | 'auto';
  /** Whether to offer browser notifications. */
  push?: boolean;
  texts?: Partial<InboxTexts>;
  className?: string;
  onMessage?: (message: InboxMessage) => void;
  onOpen?: (message: InboxMessage) => void;
  /** Return false to follow a link yourself. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most listeners return nothing
  onAction?: (message: InboxMessage, action: InboxAction) => boolean | void;
}

export function BelfryInbox(props: BelfryInboxProps) {
  const { getToken, texts, onMessage, onOpen, onAction, className, push, ...attributes } = props;
  const ref = useRef<BelfryInboxElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const setUp = (element: BelfryInboxElement | null) => {
    ref.current = element;
    // Before the element connects, so that its first request has a token.
    if (element && getToken) element.getToken = () => latest.current.getToken!();
  };
  useEffect(() => {
    const element = ref.current!;
    const listeners: Record<string, (event: Event) => void> = {
      'belfry-message': event => latest.current.onMessage?.((event as CustomEvent<InboxMessage>).detail),
      'belfry-open': event => latest.current.onOpen?.((event as CustomEvent<InboxMessage>).detail),
      'belfry-action': event => {
        const { message, action } = (event as CustomEvent<{ message: InboxMessage; action: InboxAction }>).detail;
        if (latest.current.onAction?.(message, action) === false) event.preventDefault();
      },
    };
    for (const [name, listener] of Object.entries(listeners)) element.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) element.removeEventListener(name, listener);
    };
  }, []);
  useEffect(() => {
    if (texts) ref.current!.texts = texts;
  }, [texts]);
  return createElement('belfry-inbox', { ...attributes, class: className, push: push ? '' : undefined, ref: setUp });
}

export function useInbox(options: InboxOptions): InboxState & { client: InboxClient } {
  const latest = useRef(options);
  latest.current = options;
  const [client, setClient] = useState(() => create(latest));
  const name = `${options.url} ${options.organization} ${options.username}`;
  const current = useRef(name);
  useEffect(() => {
    // A different user needs a new client.
    if (current.current !== name) {
      current.current = name;
      setClient(create(latest));
      return;
    }
    client.start();
    return () => client.stop();
  }, [client, name]);
  const state = useSyncExternalStore(
    client.subscribe,
    () => client.state,
    () => client.state,
  );
  return { ...state, client };
}

function create(latest: { current: InboxOptions }): InboxClient {
  const { getToken, ...options } = latest.current;
  return new InboxClient({ ...options, ...(getToken && { getToken: () => latest.current.getToken!() }) });
}
