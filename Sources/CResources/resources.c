#include "resources.h"

// `#embed` (C23; an extension of clang in older modes) is taken for one array by the compiler, without a token per
// byte: SwiftPM's own embedding makes Swift literals, which take it 24 s for 134 KB. The paths are relative to this
// file, and clang lists the embedded files among its dependencies, so that a changed one is built in again.
#if !__has_embed("../../openapi.yaml")
#error "openapi.yaml must be at the root of the repository: the server hands it out as /openapi.yaml"
#endif
#if !__has_embed("../../Clients/JavaScript/mvi-client.js")
#error "Clients/JavaScript/mvi-client.js is missing: the server hands it out as /mvi-client.js"
#endif
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi_yaml[] = {
#embed "../../openapi.yaml"
};
static const unsigned char openapi_admin_yaml[] = {
#embed "../../openapi-admin.yaml"
};
static const unsigned char mvi_client_js[] = {
#embed "../../Clients/JavaScript/mvi-client.js"
};
static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char style_css[] = {
#embed "base.css"
,
#embed "page/style.css"
};
static const unsigned char app_js[] = {
#embed "page/app.js"
};
static const unsigned char inspector_html[] = {
#embed "inspector/index.html"
};
static const unsigned char inspector_css[] = {
#embed "base.css"
,
#embed "inspector/inspector.css"
};
static const unsigned char inspector_js[] = {
#embed "inspector/inspector.js"
};
static const unsigned char icon_svg[] = {
#embed "page/icon.svg"
};

cresources_file cresources_openapi_yaml(void) { return (cresources_file){openapi_yaml, sizeof openapi_yaml}; }

cresources_file cresources_openapi_admin_yaml(void) {
    return (cresources_file){openapi_admin_yaml, sizeof openapi_admin_yaml};
}

cresources_file cresources_mvi_client_js(void) { return (cresources_file){mvi_client_js, sizeof mvi_client_js}; }

cresources_file cresources_index_html(void) { return (cresources_file){index_html, sizeof index_html}; }

cresources_file cresources_style_css(void) { return (cresources_file){style_css, sizeof style_css}; }

cresources_file cresources_app_js(void) { return (cresources_file){app_js, sizeof app_js}; }

cresources_file cresources_inspector_html(void) {
    return (cresources_file){inspector_html, sizeof inspector_html};
}

cresources_file cresources_inspector_css(void) { return (cresources_file){inspector_css, sizeof inspector_css}; }

cresources_file cresources_inspector_js(void) { return (cresources_file){inspector_js, sizeof inspector_js}; }

cresources_file cresources_icon_svg(void) { return (cresources_file){icon_svg, sizeof icon_svg}; }
