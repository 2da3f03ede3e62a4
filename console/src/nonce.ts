/** Styles that scripts write into the page are let in by the nonce that came with it. */
const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');

/** For Mantine's `getStyleNonce` and CodeMirror's `EditorView.cspNonce`. */
export const styleNonce = meta?.nonce ?? '';

// Where the library that locks scrolling behind dialogs looks for it.
Object.assign(globalThis, { __webpack_nonce__: styleNonce });
