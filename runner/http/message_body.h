// Beast's view of a Body: it asks for the next piece when the last one is sent. Not for the pieces
// (body.h).
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>

#include "runner/http/body.h"

namespace compat::http {

struct BodyOfMessage {
    using value_type = std::unique_ptr<Body>;
    static std::uint64_t size(const value_type& body) { return body->size(); }

    class writer {
      public:
        using const_buffers_type = boost::asio::const_buffer;
        template <bool isRequest, class Fields>
        writer(boost::beast::http::header<isRequest, Fields>&, value_type& body)
            : body_(*body), left_(body->size()) {}
        void init(boost::beast::error_code& error) { error = {}; }
        boost::optional<std::pair<const_buffers_type, bool>> get(boost::beast::error_code& error) {
            error = {};
            if (left_ == 0) return boost::none;
            const std::string_view piece = body_.next();
            // The header promised more: the connection is closed, which tells the client.
            if (piece.empty() || piece.size() > left_) {
                error = boost::beast::http::error::partial_message;
                return boost::none;
            }
            left_ -= piece.size();
            return {{boost::asio::const_buffer(piece.data(), piece.size()), left_ > 0}};
        }

      private:
        Body& body_;
        std::uint64_t left_;
    };
};

}  // namespace compat::http
