/** The CSP nonce that came with the page; it allows styles inserted by scripts. */
const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');

/** For Mantine's `getStyleNonce` and CodeMirror's `EditorView.cspNonce`. */
export const styleNonce = meta?.nonce ?? '';

// The library that locks scrolling behind dialogs reads the nonce from here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce });
