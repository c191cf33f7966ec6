# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the parts of script/trial share their variables
# The shop of Examples/Shop dies while orders are placed, and while reservations end: an order and its emptied cart are one
# thing, and a reservation ends once.

shop_customers=4

build_shop() {
    "$root/script/bootstrap"
    swift build --package-path "$root" -c "$configuration" --product shop >&2
    shop=$(swift build --package-path "$root" -c "$configuration" --show-bin-path)/shop
    jwt_secret=$(openssl rand -hex 32)
    jwt=$(/usr/bin/python3 -c 'import jwt, sys, time; print(jwt.encode({"iss": "trial", "aud": "shop", "sub": "ann",
        "exp": int(time.time()) + 86400}, sys.argv[1]))' "$jwt_secret")
}

start_shop() {
    launch env MVI_HOST=127.0.0.1 MVI_PORT="$port" MVI_DATA="$data" MVI_JWT_ISSUER=trial MVI_JWT_AUDIENCE=shop \
        MVI_JWT_SECRET="$jwt_secret" SHOP_PAYMENT_SECRET=trial SHOP_RESERVATION=1s "$shop"
}

run_shop() {
    start_shop
    await_ready
}

# shop_ask CUSTOMER METHOD PATH [BODY]: prints the answer's body.
shop_ask() {
    curl --silent --max-time 10 --request "$2" --header "Authorization: Bearer ${tokens[$1]:-}" \
        --header 'Content-Type: application/json' ${4:+--data "$4"} "http://127.0.0.1:$port$3" || true
}

# look CUSTOMER: the number of packets in the cart, and the status and the id of the order.
look() {
    local cart orders
    cart=$(shop_ask "$1" GET /features/cart:tea/state)
    orders=$(shop_ask "$1" GET /features/checkout:tea/state)
    in_cart=$(sed -nE 's/.*"id":"assam"[^}]*"count":([0-9]+).*/\1/p' <<<"$cart")
    [[ -n $in_cart || $cart != '{"lines":[],'* ]] || in_cart=0
    status=$(sed -nE 's/.*"status":"([a-z]+)".*/\1/p' <<<"$orders") order=$(sed -nE 's/.*"orders":\[\{"id":"([^"]+)".*/\1/p' <<<"$orders")
    [[ -n $status || $orders != '{"orders":[]}' ]] || status=none
    found="the cart has ${in_cart:-$cart}, the order is ${status:-$orders}"
}

# One death while customers order. Two packets of tea are in each cart before.
order_and_die() {
    local customer placing=()
    tokens=()
    for ((customer = 0; customer < shop_customers; customer++)); do
        tokens[customer]=$(shop_ask "$customer" POST /sessions "{\"identity\":\"$jwt\"}" | sed -E 's/.*"token":"([^"]*)".*/\1/')
        shop_ask "$customer" POST /features/cart:tea/intents '{"type":"add","product":"assam","count":2}' >/dev/null
        shop_ask "$customer" GET /features/checkout:tea/state >/dev/null
    done
    for ((customer = 0; customer < shop_customers; customer++)); do
        shop_ask "$customer" POST /features/checkout:tea/intents '{"type":"place"}' >"$work/answer.$customer" &
        placing+=($!)
    done
    below 40
    sleep "$(seconds_of_ms "$chance")"
    end_server KILL || true
    wait "${placing[@]}" || true
}

trial_shop_kill() {
    local rounds=$1 round customer in_cart status order found before fired waited
    local ordered=0 unordered=0 during=0 killed tokens=() names=()
    RANDOM=$seed
    echo "seed                     $seed"
    build_shop
    new_server
    for ((round = 1; round <= rounds; round++)); do
        run_shop
        order_and_die
        before=$(now_ms)
        run_shop
        names=()
        for ((customer = 0; customer < shop_customers; customer++)); do
            look "$customer"
            names[customer]=$order
            case "$status $in_cart" in
            'none 2') unordered=$((unordered + 1)) ;;
            # Its second may be over already.
            'reserved 0' | 'expired 2') ordered=$((ordered + 1)) ;;
            *) fault "round $round: $found" ;;
            esac
            [[ $status != none ]] || ! grep -q '"version"' "$work/answer.$customer" \
                || fault "round $round: an order that was answered is lost"
        done
        end_server KILL || true
        # The second of all reservations ends while no server runs.
        waited=$((1050 - ($(now_ms) - before)))
        ((waited <= 0)) || sleep "$(seconds_of_ms "$waited")"
        killed=$((round % 2 == 0))
        if ((killed)); then
            # It fires what is late as soon as it is there.
            start_shop
            below 150
            sleep "$(seconds_of_ms "$chance")"
            end_server KILL || true
        fi
        run_shop
        for ((customer = 0; customer < shop_customers; customer++)); do
            [[ -n ${names[customer]} ]] || continue
            for _ in {1..200}; do
                look "$customer"
                [[ $status == reserved ]] || break
                sleep 0.05
            done
            [[ "$status $in_cart" == 'expired 2' ]] || fault "round $round: after the reservation's end $found"
            fired=$(grep -c "expire(order: \"${names[customer]}\")" "$work/server.log" || true)
            # One that is committed when the server dies may be missing in its log.
            ((fired == 1 || (killed && fired == 0))) || fault "round $round: a reservation ended $fired times"
            during=$((during + (fired == 0)))
        done
        end_server KILL || true
    done
    echo "deaths while ordering    $rounds: $ordered orders with an empty cart, $unordered carts without an order"
    echo "reservations             $ordered ended while no server ran, each once; $during of them beside a death"
    ((rounds < 20 || (ordered > 0 && unordered > 0))) || fault "all deaths came too early or too late"
}
